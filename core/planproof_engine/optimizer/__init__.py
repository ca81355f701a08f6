"""The lambda-aware optimizer: rules, their laws, the driver that holds them to I6, and the text of the result."""
