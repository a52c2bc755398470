"""The front of an agent: who is answered when, and what joins the turn that runs."""
