"""The brain that needs no model server: the structure of sentences, and small classifiers over the local embeddings."""
