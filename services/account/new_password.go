package account

import "context"

// PasswordHash checks a password that an administrator sets, and returns its hash. It
// waits in the queue of the client's address.
func (a *Service) PasswordHash(ctx context.Context, password, address string) (string, error) {
	if err := checkPassword("password", password); err != nil {
		return "", err
	}
	leave, err := a.hashing.join(address)
	if err != nil {
		return "", err
	}
	defer leave()
	return a.hash(ctx, password)
}
