"""One exchange with a model; retries, pacing, limits; collecting a config's responses."""
