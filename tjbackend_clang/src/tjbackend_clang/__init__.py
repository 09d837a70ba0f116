"""The clang toolchain for tjcore."""
