/** A request whose body, query or path parameters do not fit their class. */
import { BadRequestException, type ValidationError } from '@nestjs/common';
import type { FieldViolation } from '@fenceline/nestjs';

export class RequestInvalidException extends BadRequestException {
  constructor(readonly violations: readonly FieldViolation[]) {
    super('The request is not valid.');
  }

  /** For Nest's ValidationPipe. */
  static from(errors: readonly ValidationError[]): RequestInvalidException {
    return new RequestInvalidException(errors.flatMap((error) => violationsOf(error, '')));
  }
}

function violationsOf(error: ValidationError, parent: string): FieldViolation[] {
  const path = parent ? `${parent}.${error.property}` : error.property;
  const messages = Object.values(error.constraints ?? {});
  const own = messages.length > 0 ? [{ path, messages }] : [];
  return [...own, ...(error.children ?? []).flatMap((child) => violationsOf(child, path))];
}
