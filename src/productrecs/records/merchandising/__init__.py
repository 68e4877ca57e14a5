"""What did the merchant rule of their lists? Products excluded, boosted, buried and pinned.

Rules are facts like the catalog: told by a merchant, followed by every process. Whatever
makes a list (recommendations, trending) asks the same `RuleBook` and obeys it.
"""
