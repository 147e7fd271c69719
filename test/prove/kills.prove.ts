// Twenty power cuts in a row: `npm test` does three.
import * as path from "node:path"
import { afterAll, beforeAll, it } from "vitest"
import { clearFolder, makeFolder, surviveKills } from "../faults/embedded.ts"

const ROUNDS = Number(process.env.PROVE_KILLS ?? 20)

let folder: string
beforeAll(() => {
  folder = makeFolder()
})
afterAll(() => clearFolder(folder, [path.join(folder, "data")]))

it(`kill -9 right after an answer loses nothing in ${ROUNDS} rounds`, () =>
  surviveKills(path.join(folder, "data"), ROUNDS))
