"""Lower bounds on the peak of every plan, each with a witness."""
