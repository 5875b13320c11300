/** How this app's POST routes treat repeated requests: protected if the client names them, else as ever. */
import { Idempotent, type IdempotentOptions } from '@fenceline/nestjs';

export function IdempotentRoute(
  options: Omit<IdempotentOptions, 'required'> = {},
): ClassDecorator & MethodDecorator {
  return Idempotent({ ...options, required: false });
}
