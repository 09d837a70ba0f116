"""The gcc toolchain for tjcore."""
