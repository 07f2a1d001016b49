"""The price of sharing bytes: parts, few places, annealed ejection, and cuts that prove."""
