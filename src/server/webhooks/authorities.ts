/** Reads the CA bundle of a webhook with Go's rules, which are stricter than OpenSSL's. */
import { caBundleProblem } from '../crds/validate-conversion.ts'

/** The configuration cannot be used at all; the message is shown without "failed to call webhook". */
export class UnusableWebhook extends Error {}

/** Problems of recently used bundles: parsing certificates takes longer than the call of the webhook. */
const known = new Map<string, string | undefined>()
const maxKnown = 20

/** Decodes base64 to PEM. Undefined if there is no bundle: the platform's CAs are used then. */
export function readAuthorities(caBundle: string | undefined): string | undefined {
  if (!caBundle) return undefined
  const problem = problemOf(caBundle)
  if (problem !== undefined) throw new UnusableWebhook(`could not get REST client: ${problem}`)
  return Buffer.from(caBundle, 'base64').toString('utf8')
}

function problemOf(caBundle: string): string | undefined {
  if (known.has(caBundle)) return known.get(caBundle)
  const problem = caBundleProblem(caBundle)
  if (known.size >= maxKnown) known.clear()
  known.set(caBundle, problem)
  return problem
}
