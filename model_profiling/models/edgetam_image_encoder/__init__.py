"""EdgeTAM's image encoder, the worked example of docs/guides/add-a-model.md."""
