/**
 * Regular expressions of schemas, in Go's dialect (RE2) and in its linear time: a pattern may come from one client and the
 * text from another. Compiled once, when the schema is.
 */
import { RE2JS } from 're2js'

/** Throws for what is not a pattern, with the words of Go's `regexp`. */
export function compilePattern(pattern: string): RE2JS {
  return RE2JS.compile(pattern)
}

/** Why this is not a pattern, or undefined if it is one. */
export function patternProblem(pattern: string): string | undefined {
  try {
    compilePattern(pattern)
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}
