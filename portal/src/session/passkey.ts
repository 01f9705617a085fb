// Passkeys (WebAuthn): between the JSON of the API and the buffers of the browser.
import type { Schema } from '../api/types';

export const available = () => typeof PublicKeyCredential !== 'undefined' && isSecureContext;

function toBytes(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
  return Uint8Array.from(binary, (char) => char.charCodeAt(0));
}

function toText(buffer: ArrayBuffer): string {
  const binary = Array.from(new Uint8Array(buffer), (byte) => String.fromCharCode(byte)).join('');
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
}

const descriptors = (list: Schema<'CredentialDescriptor'>[]) => list.map(({ id }) => ({ type: 'public-key' as const, id: toBytes(id) }));

/** Undefined when the person closes the browser's dialog. */
export async function assertion(options: Schema<'PasskeyRequestOptions'>, signal?: AbortSignal): Promise<Schema<'PasskeyAssertion'> | undefined> {
  const credential = await navigator.credentials
    .get({
      signal,
      publicKey: {
        challenge: toBytes(options.challenge),
        rpId: options.rpId,
        timeout: options.timeout,
        allowCredentials: descriptors(options.allowCredentials),
        userVerification: options.userVerification as UserVerificationRequirement,
      },
    })
    .catch(refused);
  if (!credential) return undefined;
  const { rawId, response } = credential as PublicKeyCredential & { response: AuthenticatorAssertionResponse };
  return {
    credential_id: toText(rawId),
    client_data_json: toText(response.clientDataJSON),
    authenticator_data: toText(response.authenticatorData),
    signature: toText(response.signature),
  };
}

/** The answer to `POST /me/passkeys/registration`, without the name that the user gives it. */
export async function registration(options: Schema<'PasskeyCreationOptions'>): Promise<Omit<Schema<'PasskeyCreate'>, 'name'> | undefined> {
  const credential = await navigator.credentials
    .create({
      publicKey: {
        rp: options.rp,
        user: { ...options.user, id: toBytes(options.user.id) },
        challenge: toBytes(options.challenge),
        pubKeyCredParams: options.pubKeyCredParams.map(({ alg }) => ({ type: 'public-key', alg })),
        timeout: options.timeout,
        excludeCredentials: descriptors(options.excludeCredentials),
        authenticatorSelection: options.authenticatorSelection as AuthenticatorSelectionCriteria,
        attestation: options.attestation as AttestationConveyancePreference,
      },
    })
    .catch(refused);
  if (!credential) return undefined;
  const { response } = credential as PublicKeyCredential & { response: AuthenticatorAttestationResponse };
  return { client_data_json: toText(response.clientDataJSON), attestation_object: toText(response.attestationObject) };
}

function refused(error: unknown): null {
  if (error instanceof DOMException && ['NotAllowedError', 'AbortError'].includes(error.name)) return null;
  throw error;
}
