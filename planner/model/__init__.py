"""The model of problems and plans, which is also their wire format, and the rules that make them valid."""
