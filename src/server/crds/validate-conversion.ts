/** Validates `spec.conversion`. The paths are those of the real server's internal form, which has no `webhook` level. */
import { X509Certificate } from 'node:crypto'
import { type FieldError, forbidden, invalid, notSupported, required } from '../field-errors.ts'
import { label1035Problems, subdomainProblems } from '../names.ts'
import { parseGoUrl } from '../schema/go-url.ts'
import type { CrdClientConfig, CrdConversion, CrdServiceReference } from './definition.ts'

export interface ConversionOptions {
  /** True until a CRD is established; the real server ignores its certificates until then. */
  readonly allowInvalidCaBundle: boolean
}

export function validateConversion(conversion: CrdConversion | undefined, options: ConversionOptions): FieldError[] {
  if (!conversion) return []
  const { strategy, webhook } = conversion
  const path = 'spec.conversion'
  const errors: FieldError[] = []
  if (strategy === '') errors.push(required(`${path}.strategy`))
  else if (strategy !== 'None' && strategy !== 'Webhook') {
    errors.push(notSupported(`${path}.strategy`, strategy, ['None', 'Webhook']))
  }
  const reviewVersions = webhook?.conversionReviewVersions ?? []
  if (strategy === 'Webhook') {
    return [
      ...errors,
      ...validateClientConfig(webhook?.clientConfig, `${path}.webhookClientConfig`, options),
      ...validateReviewVersions(reviewVersions, `${path}.conversionReviewVersions`),
    ]
  }
  const detail = 'should not be set when strategy is not set to Webhook'
  if (webhook?.clientConfig) errors.push(forbidden(`${path}.webhookClientConfig`, detail))
  if (reviewVersions.length > 0) errors.push(forbidden(`${path}.conversionReviewVersions`, detail))
  return errors
}

function validateClientConfig(
  config: CrdClientConfig | undefined,
  path: string,
  { allowInvalidCaBundle }: ConversionOptions,
): FieldError[] {
  if (!config) return [required(path, 'required when strategy is set to Webhook')]
  const { url, service, caBundle = '' } = config
  const errors: FieldError[] = []
  if ((url === undefined) === (service === undefined)) {
    errors.push(required(path, 'exactly one of url or service is required'))
  } else if (url !== undefined) {
    errors.push(...validateWebhookUrl(url, `${path}.url`))
  } else {
    errors.push(...validateService(service!, `${path}.service`))
  }
  const problem = caBundle === '' || allowInvalidCaBundle ? undefined : caBundleProblem(caBundle)
  return problem === undefined ? errors : [...errors, invalid(`${path}.caBundle`, caBundle, problem)]
}

export function validateWebhookUrl(text: string, field: string): FieldError[] {
  const form = '; desired format: https://host[/path]'
  const parsed = parseGoUrl(text)
  if ('problem' in parsed) return [required(field, `url must be a valid URL: ${parsed.problem}${form}`)]
  const { scheme, host, user, fragment, query } = parsed.url
  const errors: FieldError[] = []
  if (scheme !== 'https') errors.push(invalid(field, scheme, `'https' is the only allowed URL scheme${form}`))
  if (host === '') errors.push(invalid(field, host, `host must be specified${form}`))
  if (user !== undefined) errors.push(invalid(field, user, 'user information is not permitted in the URL'))
  if (fragment !== '') errors.push(invalid(field, fragment, 'fragments are not permitted in the URL'))
  if (query !== '') errors.push(invalid(field, query, 'query parameters are not permitted in the URL'))
  return errors
}

function validateService({ name, namespace, path, port = 0 }: CrdServiceReference, field: string): FieldError[] {
  const errors: FieldError[] = []
  // The real server swaps `name` and `namespace` in these two errors.
  if (namespace === '') errors.push(required(`${field}.name`))
  if (name === '') errors.push(required(`${field}.namespace`))
  if (port < 1 || port > 65535) {
    errors.push(invalid(`${field}.port`, port, 'port is not valid: must be between 1 and 65535, inclusive'))
  }
  return path === undefined ? errors : [...errors, ...validatePath(path, `${field}.path`)]
}

function validatePath(path: string, field: string): FieldError[] {
  if (path === '/' || path === '') return []
  if (path === '//') return [invalid(field, path, 'segment[0] may not be empty')]
  const errors = path.startsWith('/') ? [] : [invalid(field, path, "must start with a '/'")]
  const steps = path.slice(1).replace(/\/$/, '').split('/')
  for (const [index, step] of steps.entries()) {
    if (step === '') errors.push(invalid(field, path, `segment[${index}] may not be empty`))
    else {
      errors.push(...subdomainProblems(step).map((problem) => invalid(field, path, `segment[${index}]: ${problem}`)))
    }
  }
  return errors
}

function validateReviewVersions(versions: readonly string[], field: string): FieldError[] {
  if (versions.length === 0) return [required(field)]
  const errors = versions.flatMap((version, index) => {
    const at = `${field}[${index}]`
    if (versions.indexOf(version) < index) return [invalid(at, version, 'duplicate version')]
    return label1035Problems(version).map((problem) => invalid(at, version, problem))
  })
  if (versions.includes('v1') || versions.includes('v1beta1')) return errors
  return [...errors, invalid(field, versions, 'must include at least one of v1, v1beta1')]
}

/** The CA bundle must contain at least one valid PEM certificate. */
export function caBundleProblem(caBundle: string): string | undefined {
  const text = Buffer.from(caBundle, 'base64').toString('latin1')
  const why = 'unable to load root certificates'
  const blocks = pemBlocks(text)
  if (blocks.length === 0) return `${why}: unable to parse bytes as PEM block`
  const certificates = blocks.filter((block) => block.startsWith('-----BEGIN CERTIFICATE-----'))
  if (certificates.length === 0) return `${why}: no valid certificate authority data seen`
  return certificates.some(isCertificate)
    ? undefined
    : `${why}: failed to parse certificate: x509: malformed certificate`
}

const begin = '-----BEGIN '
const dashes = '-----'

/**
 * The PEM blocks of a text. A block must end at the end of a line, so bundles joined without a line break have none. The
 * content of a block contains no dash, so an invalid block ends where the next one begins and each character is read once.
 */
function pemBlocks(text: string): string[] {
  const blocks: string[] = []
  for (let start = nextBegin(text, 0); start >= 0; ) {
    const end = endOfBlock(text, start)
    if (end !== undefined) blocks.push(text.slice(start, end))
    start = nextBegin(text, end ?? start + begin.length)
  }
  return blocks
}

/** The marker counts at the start of a line only. */
function nextBegin(text: string, from: number): number {
  if (from === 0 && text.startsWith(begin)) return 0
  const found = text.indexOf(`\n${begin}`, Math.max(from - 1, 0))
  return found < 0 ? -1 : found + 1
}

function endOfBlock(text: string, start: number): number | undefined {
  const lineEnd = text.indexOf('\n', start)
  const line = text.slice(start + begin.length, lineEnd < 0 ? text.length : lineEnd).trimEnd()
  const type = line.slice(0, -dashes.length)
  if (lineEnd < 0 || type === '' || !line.endsWith(dashes)) return undefined
  const dash = text.indexOf('-', lineEnd)
  const footer = `${dashes}END ${type}${dashes}`
  if (dash <= lineEnd + 1 || !text.startsWith(footer, dash)) return undefined
  const end = dash + footer.length
  const rest = text.indexOf('\n', end)
  return text.slice(end, rest < 0 ? text.length : rest).trim() === '' ? end : undefined
}

function isCertificate(pem: string): boolean {
  try {
    new X509Certificate(pem)
    return true
  } catch {
    return false
  }
}
