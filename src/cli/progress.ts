// How far a long command is, on stderr: a bar that redraws itself on a terminal, otherwise now and
// then a line.
import { Console, Effect } from "effect"

export interface Progress {
  /** One more is done. */
  readonly step: Effect.Effect<void>
}

const BAR_CHARACTERS = 30
/** Without a terminal: as many lines as this, whatever the total. */
const LINES = 10
/** Redrawing more often than the eye follows costs time. */
const REDRAWS = 200

/** Shows progress of `total` items while `use` runs; the bar is gone, or complete, when it ends. */
export const withProgress = <A, E, R>(
  options: { readonly label: string; readonly total: number },
  use: (progress: Progress) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.suspend(() => {
    const { label, total } = options
    if (total === 0) return use({ step: Effect.void })
    const isTerminal = process.stderr.isTTY === true
    const every = Math.max(1, Math.floor(total / (isTerminal ? REDRAWS : LINES)))
    let done = 0
    const draw = Effect.suspend(() => {
      const text = `${label} ${done} of ${total}`
      return isTerminal ? write(`\r${bar(done / total)} ${text}`) : Console.error(text)
    })
    const step = Effect.suspend(() => {
      done += 1
      return done % every === 0 || done === total ? draw : Effect.void
    })
    return Effect.ensuring(use({ step }), isTerminal ? write("\n") : Effect.void)
  })

const write = (text: string) => Effect.sync(() => process.stderr.write(text))

const bar = (share: number) => {
  const filled = Math.round(share * BAR_CHARACTERS)
  return `[${"#".repeat(filled)}${" ".repeat(BAR_CHARACTERS - filled)}]`
}
