// 3,000 events over 20 endpoints by three replicas while one is killed: `npm test` does 200 over 4.
import { it } from "vitest"
import { surviveLossOfReplica } from "../faults/deliveryReplicas.ts"

const COMMITMENTS = Number(process.env.PROVE_DELIVERY_COMMITMENTS ?? 1_500)

it(`${COMMITMENTS * 2} events over 20 endpoints survive the loss of a replica`, () =>
  surviveLossOfReplica({
    commitments: COMMITMENTS,
    endpoints: 20,
    failures: 200,
    killedAfter: COMMITMENTS * 12
  }))
