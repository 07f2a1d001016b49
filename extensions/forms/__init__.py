"""Forms of TensorFlow Lite models: rewritten versions with split operators, of which the smallest arena is kept."""
