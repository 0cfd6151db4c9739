"""What tests share: data, checks and ways to run things."""
