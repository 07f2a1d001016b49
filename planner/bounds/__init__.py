"""Lower bounds on the peak of every plan, each with a witness (the buffers or the time that prove it)."""
