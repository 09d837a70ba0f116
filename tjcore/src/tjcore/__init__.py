"""tjcore: a dynamic tensor compiler with fusion and planned memory."""

__version__ = "0.1.0"
