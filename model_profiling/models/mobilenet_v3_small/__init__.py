"""MobileNetV3-Small as torchvision defines it."""
