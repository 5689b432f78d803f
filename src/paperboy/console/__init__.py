"""What a person sees on a terminal, or in the journal. No other room prints."""
