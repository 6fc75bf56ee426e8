/** Messages that API servers use in many responses, to keep tables of expectations readable. */

export const subdomain: string =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end " +
  "with an alphanumeric character (e.g. 'example.com', regex used for validation is " +
  "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"

export const dnsLabel: string =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an " +
  "alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"

export const dns1035Label: string =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end " +
  "with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is " +
  "'[a-z]([-a-z0-9]*[a-z0-9])?')"

const qualifiedName =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character " +
  "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"

export const namePart: string = `name part ${qualifiedName}`

export const labelKey: string = `a valid label key ${qualifiedName} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`

export const labelValue: string =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end " +
  "with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is " +
  "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"

export const configMapKey: string =
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or " +
  "'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"

export const unknownFormat: string =
  'the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, ' +
  'application/vnd.kubernetes.protobuf'

export const notAcceptable: string =
  'only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf'

export const noSuchResource: string = 'the server could not find the requested resource'

export const noSuchMethod: string = 'the server does not allow this method on the requested resource'

export const modified: string =
  'the object has been modified; please apply your changes to the latest version and try again'
