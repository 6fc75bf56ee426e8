/** Assertions that all suites share: refusals compared in full, and states that come about in time. */
import { expect } from 'vitest'
import type { Answer, Body, Tree } from './answers.ts'

/** The document with which a server refuses. `details` is absent in some. */
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

/** `field: body`. The reason follows from the title but for wrong types, where it comes with the text. */
export type Cause = string | readonly ['FieldValueTypeInvalid', string]

/** What is invalid in which object: `kind` with its group, as in `Widget.example.com`. */
export interface Subject {
  readonly kind: string
  readonly group?: string
  readonly name?: string
}

/** An object refused for its contents: the message and the causes say the same in two forms. */
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

/** How often a cause is repeated follows from how often the old and the new object happened to be looked at. */
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
  if (reason === undefined) throw new Error(`No cause begins like this: ${text}`)
  return { reason, message: text.slice(field.length + 2), field }
}

/** For steps on the way to what a test is about. Returns the body. */
export function expectStatus(answer: Answer, ...codes: number[]): Body {
  if (!codes.includes(answer.status)) throw new Error(`Answered ${answer.status}: ${answer.text}`)
  return answer.body
}

/** Texts of the `Warning` headers. */
export function warningsOf(answer: Answer): string[] {
  const header = answer.headers['warning'] ?? ''
  return [...String(header).matchAll(/299 - "((?:[^"\\]|\\.)*)"/g)].map(([, text]) => text!.replaceAll(/\\(.)/g, '$1'))
}

/** Asks again until the check passes; the last failure is the one that is thrown. */
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

/** `expect(…).toEqual({ uid: uuid })`: any value of the form. */
export const uuid: unknown = expect.stringMatching(
  /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
)
export const timestamp: unknown = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
export const version: unknown = expect.stringMatching(/^[1-9]\d*$/)
