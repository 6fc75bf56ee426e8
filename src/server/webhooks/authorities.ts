/** The authorities that a webhook's certificate may come from, read as Go reads them: it minds what OpenSSL passes over. Pure. */
import { caBundleProblem } from '../crds/validate-conversion.ts'

/** What is configured cannot be called at all: said without a word of calls. */
export class UnusableWebhook extends Error {}

/** From base64 to PEM. Undefined for none: then those count that the platform trusts. */
export function readAuthorities(caBundle: string | undefined): string | undefined {
  if (!caBundle) return undefined
  const problem = caBundleProblem(caBundle)
  if (problem !== undefined) throw new UnusableWebhook(`could not get REST client: ${problem}`)
  return Buffer.from(caBundle, 'base64').toString('utf8')
}
