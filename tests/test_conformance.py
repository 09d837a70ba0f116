"""The suite that tjcore ships, on every toolchain that is installed, or on those that --backend names."""

from tjcore.conformance.suite import *  # noqa: F403 - this is how a plugin's own tests take the suite in, too
