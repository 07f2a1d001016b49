"""The question `verify`: violations of a plan, the causes of its peaks, and checks of its claims."""
