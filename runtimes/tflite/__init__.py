"""Reader and writers of TensorFlow Lite models, and the rules of TFLite Micro's arena."""
