"""The types of the six tools; PUBLIC says in which module each class is.

Generated; do not edit. `python -m codegen` makes this file from schemas/:

    rules/recall.json  sha256:c67646f4749236f570c91d021792041af1afdf8065aa8f67ba88f2c6a46e2aa5
    rules/reflect.json  sha256:df82528b2e5475c4772ae3efcfcfe8375673fa4edb66bff15eb28256a7c73a53
    rules/retain.json  sha256:0636a1a199b8022e8cec822ad1e56d4d7699c70a01bd25283a093dfcab11ec4f
    tools/get_bank.json  sha256:a304384833234c885dd99db62ebcbcd7df64718ced512e0a358f8a762af35867
    tools/get_memory.json  sha256:0f11e7d0b7b51409a3db11a2c5d60f7e4777949ff3dc2f5fb585a9f5ce867acc
    tools/list_memories.json  sha256:8ad5de7b74244c920bd45a473ea656b9d422ee648fc1e8a0d0eadd69bc949e37
    tools/recall.json  sha256:e3091a3f8515d9a6c8700a320ccedfd232a0f6a43efd9035ce384656fcc1f8c7
    tools/reflect.json  sha256:e0cb0c0b1b5317b863963122d9665b12f3766c8fca6838d1bbf3766a3d6bb588
    tools/retain.json  sha256:a8e330d410a6faebcb2a3858d43dd742e8eb76c9a683b704918c3e10e73b9b56
    types/directive.json  sha256:e629e9fd2a96e03f11d479653d64c567471a1514d6204722c585be2f69c8c3fb
    types/fact.json  sha256:16c4c627540bd13da68a48eab98616bed3a67b03e3ea819f6424bf1e94a31f76
"""

PUBLIC = {
    "BankProfile": "get_bank",
    "BasedOn": "reflect",
    "Chunk": "recall",
    "Directive": "directive",
    "Disposition": "get_bank",
    "Entity": "recall",
    "EntityObservation": "recall",
    "Fact": "fact",
    "LLMCall": "reflect",
    "Memory": "get_memory",
    "MemoryItem": "list_memories",
    "MemoryPage": "list_memories",
    "RecallResult": "recall",
    "ReflectResult": "reflect",
    "RetainReceipt": "retain",
    "Scores": "fact",
    "SourceMemory": "get_memory",
    "ToolCall": "reflect",
    "Usage": "reflect",
}

INPUT_SHA256 = {
    "get_bank": "99334726611ccf58a148b0814696bfa6fe08c1b2d027e946beccf5a74331c9aa",
    "get_memory": "697a5139f50ee417b108b7d5c9907e86792c899fa6f4ef7987c78e57ce0037c7",
    "list_memories": "281045495fe033b5a110316513696e6cb10b215c99bdaf106eb8f9ea7d5b6f80",
    "recall": "e00c75410e90b2d96b17d4507d30c98816520254acf4bcffff71397bb06ee052",
    "reflect": "006732c131f2ad5b9779ac37b0799ba58273d39a3f86d33e87c3cf7247415887",
    "retain": "e95e98e300aca192c0d9e26ccaa5d9c4370f19952527bf125e84367600c4f8a0",
}
