"""Object detection: decodes the outputs of pretrained detectors into boxes and labels."""
