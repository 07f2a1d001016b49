"""Problems and plans: the values themselves, which are the wire format, and the rules that make them valid."""
