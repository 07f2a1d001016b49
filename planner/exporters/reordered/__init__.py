"""Files of models with their operations in another order; everything else in them stays, byte for byte."""
