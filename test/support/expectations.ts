/** Assertions that the suites share: comparing whole error responses, and waiting for states. */
import { expect } from 'vitest'
import type { Answer, Body, Tree } from './answers.ts'

/** The Status object of an error response. Some have no `details`. */
export function failure(code: number, reason: string, message: unknown, details?: Tree): Tree {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message,
    ...(reason === '' ? {} : { reason }),
    ...(details === undefined ? {} : { details }),
    code,
  }
}

export function expectFailure(answer: Answer, code: number, reason: string, message: string, details?: Tree): void {
  expect(answer.body).toEqual(failure(code, reason, message, details))
  expect(answer.status).toBe(code)
}

const reasons: Readonly<Record<string, string>> = {
  'Invalid value': 'FieldValueInvalid',
  'Required value': 'FieldValueRequired',
  'Duplicate value': 'FieldValueDuplicate',
  'Unsupported value': 'FieldValueNotSupported',
  Forbidden: 'FieldValueForbidden',
  'Not found': 'FieldValueNotFound',
  'Too long': 'FieldValueTooLong',
  'Too many': 'FieldValueTooMany',
  'Too few': 'FieldValueTooFew',
  'Internal error': 'InternalError',
}

/** `field: body`. The reason follows from the title, except for wrong types, where it is given explicitly. */
export type Cause = string | readonly ['FieldValueTypeInvalid', string]

/** The invalid object. Messages name it by kind and group, as in `Widget.example.com`. */
export interface Subject {
  readonly kind: string
  readonly group?: string
  readonly name?: string
}

/** Expects a 422 response. Its message and its causes contain the same errors in two forms. */
export function expectInvalid(answer: Answer, subject: Subject, ...expected: Cause[]): void {
  const { kind, group = '', name = '' } = subject
  const causes = expected.map(toCause)
  const texts = [...new Set(causes.map(({ field, message }) => `${field}: ${message}`))]
  const list = texts.length === 1 ? texts[0] : `[${texts.join(', ')}]`
  const title = group === '' ? kind : `${kind}.${group}`
  const details = { ...(name === '' ? {} : { name }), ...(group === '' ? {} : { group }), kind, causes }
  const unrepeated = { ...answer, body: withoutRepeatedCauses(answer.body) }
  expectFailure(unrepeated, 422, 'Invalid', `${title} ${JSON.stringify(name)} is invalid: ${list}`, details)
}

/** The number of repetitions of a cause depends on how often the server validates the old and the new object. */
function withoutRepeatedCauses(body: Body): Body {
  const details = body['details'] as Tree | undefined
  if (!Array.isArray(details?.['causes'])) return body
  const causes = new Map(details['causes'].map((cause) => [JSON.stringify(cause), cause]))
  return { ...body, details: { ...details, causes: [...causes.values()] } }
}

function toCause(cause: Cause): { reason: string; message: string; field: string } {
  const text = typeof cause === 'string' ? cause : cause[1]
  const [field, title] = text.split(': ') as [string, string]
  const reason = typeof cause === 'string' ? reasons[title] : cause[0]
  if (reason === undefined) throw new Error(`Unknown cause: ${text}`)
  return { reason, message: text.slice(field.length + 2), field }
}

/** Checks the status of a preparatory request, and returns its body. */
export function expectStatus(answer: Answer, ...codes: number[]): Body {
  if (!codes.includes(answer.status)) throw new Error(`Answered ${answer.status}: ${answer.text}`)
  return answer.body
}

/** Texts of the `Warning` headers. */
export function warningsOf(answer: Answer): string[] {
  const header = answer.headers['warning'] ?? ''
  return [...String(header).matchAll(/299 - "((?:[^"\\]|\\.)*)"/g)].map(([, text]) => text!.replaceAll(/\\(.)/g, '$1'))
}

/** Calls the function until it succeeds; throws its last error after the timeout. */
export async function eventually<T>(ask: () => Promise<T>, timeoutMs: number = 20_000): Promise<T> {
  const deadline = Date.now() + timeoutMs
  for (;;) {
    try {
      return await ask()
    } catch (error) {
      if (Date.now() >= deadline) throw error
      await new Promise((resolve) => setTimeout(resolve, 25))
    }
  }
}

/** `expect(…).toEqual({ uid: uuid })`: matches any value of this form. */
export const uuid: unknown = expect.stringMatching(
  /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
)
export const timestamp: unknown = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
export const version: unknown = expect.stringMatching(/^[1-9]\d*$/)
