pytest_plugins = ["tjcore.conformance.plugin"]
