"""The question `verify`: violations of a plan, the causes of its peak, and whether its claims hold."""
