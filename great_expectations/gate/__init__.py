"""The gate before a promotion: candidates' rows judged by Great Expectations against the contract and the live rows."""
