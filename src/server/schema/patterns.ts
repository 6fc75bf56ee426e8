/**
 * Regular expressions of schemas: Go's syntax (RE2) with linear time, because pattern and text may come from different clients.
 * Compiled once per schema.
 */
import { RE2JS } from 're2js'

/** Throws for an invalid pattern, with the message of Go's `regexp`. */
export function compilePattern(pattern: string): RE2JS {
  return RE2JS.compile(pattern)
}

/** The problem of an invalid pattern; undefined if it is valid. */
export function patternProblem(pattern: string): string | undefined {
  try {
    compilePattern(pattern)
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}
