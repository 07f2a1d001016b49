"""The price of sharing bytes: pieces, exact search of few places, annealed ejection, and cuts that prove bounds."""
