/** OpenID Connect discovery: serves the public key with which other services verify service account tokens. */
import type { ApiResponse } from '../call.ts'
import { checkOffered } from '../negotiation.ts'
import { type AccountTokens, issuer } from './account-tokens.ts'

const keysPath = '/openid/v1/jwks'
const cacheControl = 'public, max-age=3600'

type OpenidHeaders = Readonly<Record<string, string>>

/** Undefined for other paths. */
export function openidPage(path: string, tokens: AccountTokens, headers: OpenidHeaders): ApiResponse | undefined {
  const { host = '', accept } = headers
  if (path === keysPath) return page('application/jwk-set+json', { keys: [tokens.jwk] }, accept)
  if (path !== '/.well-known/openid-configuration') return undefined
  return page(
    'application/json',
    {
      issuer,
      jwks_uri: `https://${host}${keysPath}`,
      response_types_supported: ['id_token'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['ES256'],
    },
    accept,
  )
}

function page(contentType: string, body: object, accept: string | undefined): ApiResponse {
  checkOffered(accept, [contentType])
  const headers = { 'content-type': contentType, 'cache-control': cacheControl }
  return { status: 200, headers, body: JSON.stringify(body) }
}
