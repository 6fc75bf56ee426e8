/** The authorities that a webhook's certificate may come from, read as Go reads them: it minds what OpenSSL passes over. */
import { caBundleProblem } from '../crds/validate-conversion.ts'

/** What is configured cannot be called at all: said without a word of calls. */
export class UnusableWebhook extends Error {}

/** The problems of the bundles that were read last: parsing certificates for every call of a webhook takes longer than the call. */
const known = new Map<string, string | undefined>()
const maxKnown = 20

/** From base64 to PEM. Undefined for none: then those count that the platform trusts. */
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
