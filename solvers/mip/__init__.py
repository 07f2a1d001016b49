"""The integer program of the planning documents, written once, and the engines that it is handed to."""
