"""Impact of recommendations: reports from the sums that attribution stores."""
