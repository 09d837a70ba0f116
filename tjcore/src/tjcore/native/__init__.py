"""The C that generated code is built with: headers that kernels include, and the sources of the support library."""
