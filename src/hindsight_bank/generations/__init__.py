"""The two older generations of Hindsight's tools: a class each, over the same connection as `Bank`.

Their servers have one endpoint for all banks, so the bank's id travels as an argument: `bank_id` or `agent_id`, as the
server itself spells it. Nothing of one generation is translated into another.
"""
