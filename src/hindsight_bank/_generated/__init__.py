"""The types of the tools; PUBLIC says in which module each class is.

Generated; do not edit. `python -m codegen` makes this file from schemas/:

    agents/rules/hindsight_search.json  sha256:1d4c5bc68bd77ad91f24747463bddf32cf95425be33e041617b87611e150cab3
    agents/rules/hindsight_store.json  sha256:4a6ffe5c652d8ed6bad3b29c8165c7f09ad28439d3f4bcc88f3362938a8432c0
    agents/rules/hindsight_think.json  sha256:545c95cec5095a4e8c981a05bf3135c1d00eb56401bee41f03cacb4f62e7d76c
    agents/tools/hindsight_agents.json  sha256:a282796d1ea3c594679de063522bdee47dfbf7e57a0ca5407592802a6d656420
    agents/tools/hindsight_search.json  sha256:c42cd54bbfcb36a915145a77d30a1a6c4324d5c1553ea635b78f410db189ddc6
    agents/tools/hindsight_store.json  sha256:8c7edb0cf773ab95b29f513d7066d0275f7144052770f38c10265164a3f79bf5
    agents/tools/hindsight_think.json  sha256:8fd908f0e75385c7c9cd7339fe60e1b8f1417820444b7733aafae80f1e42f85a
    put_search/rules/hindsight_put.json  sha256:e50cd01b597a3480914931ab5bb093c498daf00d4140d0ef241fafa7ff009abe
    put_search/rules/hindsight_search.json  sha256:996285a5deed7e44391ae0e9a44276da846e2b943d2b2d5e1b4acd3df140bbec
    put_search/tools/hindsight_put.json  sha256:ac8329f53fac25a767a457f3aa6e48eef54775fac273fe3dd2241b860dc421ee
    put_search/tools/hindsight_search.json  sha256:b8372d78daf863ea9a8a87eee073e134d6b9e839a2531ab383306a4673056a7b
    rules/recall.json  sha256:c67646f4749236f570c91d021792041af1afdf8065aa8f67ba88f2c6a46e2aa5
    rules/reflect.json  sha256:df82528b2e5475c4772ae3efcfcfe8375673fa4edb66bff15eb28256a7c73a53
    rules/retain.json  sha256:0636a1a199b8022e8cec822ad1e56d4d7699c70a01bd25283a093dfcab11ec4f
    tools/get_bank.json  sha256:a304384833234c885dd99db62ebcbcd7df64718ced512e0a358f8a762af35867
    tools/get_memory.json  sha256:b14746719ff244536615caa3c7b6a1dd2923f4b11728dd891811a376af251c7e
    tools/list_memories.json  sha256:b34079c739ca2df225f185c25f3a075f5c31e3f308f694df5245581de4d0bf9b
    tools/recall.json  sha256:e3091a3f8515d9a6c8700a320ccedfd232a0f6a43efd9035ce384656fcc1f8c7
    tools/reflect.json  sha256:e0cb0c0b1b5317b863963122d9665b12f3766c8fca6838d1bbf3766a3d6bb588
    tools/retain.json  sha256:a8e330d410a6faebcb2a3858d43dd742e8eb76c9a683b704918c3e10e73b9b56
    types/directive.json  sha256:e629e9fd2a96e03f11d479653d64c567471a1514d6204722c585be2f69c8c3fb
    types/fact.json  sha256:16c4c627540bd13da68a48eab98616bed3a67b03e3ea819f6424bf1e94a31f76
"""

PUBLIC = {
    "Agent": "agents.hindsight_agents",
    "AgentFact": "agents.hindsight_search",
    "AgentGround": "agents.hindsight_think",
    "AgentList": "agents.hindsight_agents",
    "AgentReceipt": "agents.hindsight_store",
    "AgentSearchResult": "agents.hindsight_search",
    "AgentThought": "agents.hindsight_think",
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
    "PutReceipt": "put_search.hindsight_put",
    "PutSearchFact": "put_search.hindsight_search",
    "PutSearchResult": "put_search.hindsight_search",
    "RecallResult": "recall",
    "ReflectResult": "reflect",
    "RetainReceipt": "retain",
    "Scores": "fact",
    "SourceMemory": "get_memory",
    "ToolCall": "reflect",
    "Usage": "reflect",
}

INPUT_SHA256 = {
    "agents.hindsight_agents": "efddc7bd8bbcef73a14eb1ace1ffdaec81e518ef1e13c1e9271d0b8acb694a49",
    "agents.hindsight_search": "33a9c565d7bb6ff445e2d6991df7bfa292fe818b32e52b6f82bec692a56663ea",
    "agents.hindsight_store": "a6bfe230198f735e1a39625aa89973fae64cd94e7f3b793f968bcfc393022751",
    "agents.hindsight_think": "6e1f7effa6bfa2cf62559ff4940fb8da8b86269272c66f0e3c9f3c1854bc2d95",
    "get_bank": "99334726611ccf58a148b0814696bfa6fe08c1b2d027e946beccf5a74331c9aa",
    "get_memory": "697a5139f50ee417b108b7d5c9907e86792c899fa6f4ef7987c78e57ce0037c7",
    "list_memories": "281045495fe033b5a110316513696e6cb10b215c99bdaf106eb8f9ea7d5b6f80",
    "put_search.hindsight_put": "2cba6a3f6986794defea982d60f95352f53f7f1db77de1b078d6658fbbb4994d",
    "put_search.hindsight_search": "a57d7e8063b918727541492fc0e0a8aff2961e44524f97d8e3a9629c1273e4ca",
    "recall": "e00c75410e90b2d96b17d4507d30c98816520254acf4bcffff71397bb06ee052",
    "reflect": "006732c131f2ad5b9779ac37b0799ba58273d39a3f86d33e87c3cf7247415887",
    "retain": "e95e98e300aca192c0d9e26ccaa5d9c4370f19952527bf125e84367600c4f8a0",
}
