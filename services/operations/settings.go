package operations

import (
	"context"
	"time"

	"modelgateway/api"
	"modelgateway/config"
)

// Warning is what an operator should know about a setting.
type Warning struct {
	Setting string // empty: none in particular
	Message string
}

// Settings shows the settings that are in effect.
type Settings struct {
	Config   func() *config.Config // that of new calls
	Known    []config.ProviderSettings
	Warnings func(context.Context) []Warning
	Version  string
	Started  time.Time
}

// Show lists all settings, without secrets.
func (s *Settings) Show(ctx context.Context) api.SettingList {
	list := api.SettingList{
		Object: "settings", Version: s.Version, StartedAt: s.Started.Unix(), Data: []api.Setting{}, Warnings: []api.SettingWarning{},
	}
	for _, e := range s.Config().Effective(s.Known) {
		shown := api.Setting{
			Name: e.Name, Group: e.Group, Description: e.Doc, Value: api.Maybe(e.Value), Default: api.Maybe(e.Default), Source: e.Source,
			Secret: e.Secret, Set: e.IsSet,
		}
		if e.Pool && e.IsSet {
			shown.Count = &e.Count
		}
		list.Data = append(list.Data, shown)
	}
	for _, w := range s.Warnings(ctx) {
		list.Warnings = append(list.Warnings, api.SettingWarning{Setting: api.Maybe(w.Setting), Message: w.Message})
	}
	return list
}
