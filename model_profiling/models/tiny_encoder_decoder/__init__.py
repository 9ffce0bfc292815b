"""An encoder and a decoder in one program of two methods, as speech and translation models have them."""
