// Remembers what a pure function answered. Used by the sender for what is the same for every attempt
// to one endpoint.

/** Enough for the endpoints that one replica sends to within a short time. */
const MOST = 1_000

/** The function, with its answers to the last arguments kept. */
export const remembered = <A>(compute: (argument: string) => A): ((argument: string) => A) => {
  const answers = new Map<string, A>()
  return (argument) => {
    const known = answers.get(argument)
    if (known !== undefined) return known
    const answer = compute(argument)
    if (answers.size >= MOST) answers.clear()
    answers.set(argument, answer)
    return answer
  }
}
