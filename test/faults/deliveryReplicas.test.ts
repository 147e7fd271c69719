// Several replicas deliver from one outbox: the short form of test/prove/delivery.prove.ts.
import { it } from "vitest"
import { surviveLossOfReplica } from "./deliveryReplicas.ts"

it("three replicas, one of them killed: everything is delivered, nearly everything once", () =>
  surviveLossOfReplica({ commitments: 100, endpoints: 4, failures: 20, killedAfter: 250 }))
