/** What may be done on the terminal where the logs go. Without a terminal nothing is: what reads them is no person. Pure. */

/** The variables that all commands go by. */
export interface TerminalVariables {
  readonly NO_COLOR?: string | undefined
  readonly FORCE_COLOR?: string | undefined
  readonly TERM?: string | undefined
  readonly CI?: string | undefined
}

export interface Abilities {
  readonly hasColours: boolean
  /** Lines can be drawn over, and somebody is there to see it. */
  readonly isLively: boolean
}

const refusals: ReadonlySet<string | undefined> = new Set([undefined, '', '0', 'false'])

/** Whoever wants no colours gets none, whatever else is said. */
export function judgeTerminal(isTerminal: boolean, variables: TerminalVariables): Abilities {
  const { NO_COLOR, FORCE_COLOR, TERM, CI } = variables
  const isDumb = TERM === 'dumb'
  const hasChoice = FORCE_COLOR !== undefined && FORCE_COLOR !== ''
  const wantsColours = hasChoice ? !refusals.has(FORCE_COLOR) : !isDumb
  return {
    hasColours: isTerminal && !NO_COLOR && wantsColours,
    isLively: isTerminal && !isDumb && refusals.has(CI),
  }
}
